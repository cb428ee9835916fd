BV_newJ¢U¯üTN>8¿<ÂÜU>÷hº
>ŒG>