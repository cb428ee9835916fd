BV_newJ kàtUU¥¢<b¸_L<\°<ÅÚ
ñ	Â¤<æJ öÁ¬³<