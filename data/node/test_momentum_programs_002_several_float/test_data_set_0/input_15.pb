B
V_beside_XJsæø;R'9?–!¾i¿