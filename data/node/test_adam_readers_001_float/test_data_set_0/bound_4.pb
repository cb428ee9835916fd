BV_new_scalarsJ0ØB°ùrq>ÐiÅƒøä~>:Xæ €aŽ>²Â¯y‹Þu>‹äk‹Ü e>è"
"£U†>