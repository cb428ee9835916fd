BX_new_X_row_firstJeн_њ
Я≠њыйxњЩ	ґњ