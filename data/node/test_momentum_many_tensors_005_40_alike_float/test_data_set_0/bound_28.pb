BX29_newJï†#™
¸>…cbGGÞ£>