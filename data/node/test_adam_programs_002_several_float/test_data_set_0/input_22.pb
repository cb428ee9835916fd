B
V_beside_VJQ®*¿÷9-?åx:¾Î¹>