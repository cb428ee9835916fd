B
V_beside_VJPÜã¾.Ã+>ÃH¿áw¿¾