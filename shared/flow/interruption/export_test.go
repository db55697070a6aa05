package interruption

// Begin is begin, for tests that play a whole world.
var Begin = (*Flow).begin
