BX_newJQ†X±ÑD>¬
^@òX>hÜ_†#Þ4>