BX_newJ8}“íH~Ñ=ˆGÿmKQó=JÀÜ£Ýnð=ñWrQ‘Ê=ès¨ÝKéé=Ã
k_ðý=Pk'‚¾ÿ=