BX_newJ @R
ÁC—`w¤ÿC!û`'ºCã'Š'KC