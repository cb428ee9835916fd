BX1_new_twin_capturedJ ╝:
яЁ┤²>U■зкt∙>
y╤УK╩▄>·d╩б#═>