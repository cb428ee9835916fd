BX1_newJUЮЁ	биP=ёC÷M│╢L=BД╧<
\X=