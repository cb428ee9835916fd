BH1_new_V_lastJ ฺ) `€>
@ๆCP}ปJü?\จVท่๐?9%GฉÝ็?