BX_newJŽ§í
c{°>|jKÝ¹¯>9OØQb^Á>