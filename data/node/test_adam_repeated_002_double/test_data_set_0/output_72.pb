BH1_new_state_lastJ ฺ) `€>
@ๆCP}ปJü?\จVท่๐?9%GฉÝ็?