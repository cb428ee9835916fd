B
X_infiniteJ¹iJ>ˆb_?óñ‰¿{Ò¿