BX_newJ OxZ¨î
0>Cñ¯žfØG>àd`“×*>À–4[‘¶>>