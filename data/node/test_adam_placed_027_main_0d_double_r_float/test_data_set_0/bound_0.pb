B
X_new_sameJьоЂ{X>