BH_new_later_if_loopJ`GцЧVшМнїaСХ\Іу&АE}›°a
АRcn*!Аш;rkмъА„1–y,"%АGцЧVшМнїaСХ\Іу&АE}›°a
АRcn*!Аш;rkмъА„1–y,"%А