// Package audit judges what happened in a world by the world's log alone. It shares no code with what it judges: it keeps
// its own books of claims, machines and limits and says where a fact breaks a rule.
//
// The rules carry the numbers of the launch's invariants: A1 one machine for a claim, A2 no launch that was not recorded
// before with the same bytes, A6 no pool above its limits. Check is called with every new fact and says what must hold at
// every instant; Quiet is called when the world has come to rest and says what must hold then.
package audit
