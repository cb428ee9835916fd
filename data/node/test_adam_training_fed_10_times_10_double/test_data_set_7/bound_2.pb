BV_newJ¡@}£üTN>8¿<ÂÜU>÷hº
>ŒG>