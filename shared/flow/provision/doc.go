// Package provision owns a claim's registration: pending pods become a plan, the plan's claims are recorded, launched, shown as
// NodeClaim objects, registered when their nodes join and initialized when those are ready.
//
// It is the only launcher and cannot terminate. Every entry is level-triggered: a message is a hint that there is
// something to look at, never what to do, so running twice, late or never changes nothing but the time it takes. What
// must be read, written and asked is behind the ports in ports.go; what is decided is core/pack's; userdata and the
// instance types' capacity are core/userdata's and core/offering's.
package provision
