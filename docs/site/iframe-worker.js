// Browsers start no workers in pages that are opened from a disk. There, the script of the search
// runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.inside = new Promise(resolve => {
        frame.addEventListener("load", async () => {
          const inside = frame.contentWindow
          const run = source => new Promise(done => {
            const script = inside.document.createElement("script")
            script.src = source
            script.addEventListener("load", done)
            inside.document.body.append(script)
          })
          inside.importScripts = (...sources) => Promise.all(sources.map(run))
          inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
          await run(url)
          resolve(inside)
        }, { once: true })
      })
      frame.srcdoc = "<body></body>"
      document.body.append(frame)
    }

    async postMessage(data) {
      (await this.inside).dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
