BX_newJ _Å~»Eå><IW´‹ê>UœB­â>dÍ
Rªñ>