BX_new_stateJ0aд“ќQ—†>Kџ€cBТ>љмjHА•>†
уSюЇ>Жk№ЙUЌЮ>Ў.Наћ%Є>