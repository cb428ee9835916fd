BH1_new_X_lastJ ฺ) `€>
@ๆCP}ปJü?\จVท่๐?9%GฉÝ็?