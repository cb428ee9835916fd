BH7JÅY
@