BH_newJ З
э~Т±¤>‰Dwся*ў>VFcс¬њ>’ЃNЬjЈ>