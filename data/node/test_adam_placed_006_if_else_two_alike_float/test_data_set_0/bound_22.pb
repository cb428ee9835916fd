BH2_new_twinJ ôãT¸“±>
'ihþÑ°>"jÂ¼»>HC¸ÚpÌ„>