BX_new_shapes_2JAИўТЃMН>уърНI
­>