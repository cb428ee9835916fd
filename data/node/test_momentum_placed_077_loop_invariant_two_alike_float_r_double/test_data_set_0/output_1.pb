BX1_new_laterJ¡zoÀ×À>vW˜?Y
À