BHJky}? 
†@ß½U@