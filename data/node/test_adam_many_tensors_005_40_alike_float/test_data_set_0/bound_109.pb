BH30_newJãMC¤}ˆ>™
túLZ¬>