BH2_new_twin_laterJ áŸ­Å6}ù<c1æ
ã<.q5’5ô<Ö>û2yXÔ<