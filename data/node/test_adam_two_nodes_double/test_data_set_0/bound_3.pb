BX2_newJ ВMЭ⌡F
P>┤⌠Ф1aP>;сbзиPW>Э├ЕNRZ>