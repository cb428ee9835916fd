BX1_new_twin_atJ i†ç:–<G∞/·
ì–<iîfπ≤cπ<íh◊lB™<