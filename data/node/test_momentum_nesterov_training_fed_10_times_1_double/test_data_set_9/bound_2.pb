BV_newJ³”Y e¿<‘ü
÷AÉ<ty£*†ãÆ<