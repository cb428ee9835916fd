B
V_new_adamJ !ÀŒÕs3ž>ëLfW‚¤µ>0¼£§¨—>Ÿ|(G‹W£>