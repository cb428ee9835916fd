B	X6_new_ifJ ‰s€j¼Ä<
t—Kõž¿<C¶("nÙ¶<ZÆ	vŒÕÏ<