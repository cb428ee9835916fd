Bvalue X1_new_ifJ °	‹‹†a“їҐVzги’шїi–С·
Kл?ѕ¶зF^л?