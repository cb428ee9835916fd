B
X_second_VJ(F¾¾ïˆ=ÜƒÅ?Ä/Ï?