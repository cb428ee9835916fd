BH1_new_V_secondJ ฺ) `€>
@ๆCP}ปJü?\จVท่๐?9%GฉÝ็?