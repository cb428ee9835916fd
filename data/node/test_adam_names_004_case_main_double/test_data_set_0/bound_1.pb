BABcDefghijklmnopJ m™
·ý¸›<m€D•YƒÈ<‹ ×žÏÑÜ<½4m¨›Ù<