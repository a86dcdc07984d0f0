def draw(path, records, title): pass
