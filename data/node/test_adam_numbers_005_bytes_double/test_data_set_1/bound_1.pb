BV_newJ ªÓé=V<qE‘ì¤³V<Õr)
F<ÌÍy9b_<