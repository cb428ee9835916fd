BH1_new_X_secondJ ฺ) `€>
@ๆCP}ปJü?\จVท่๐?9%GฉÝ็?