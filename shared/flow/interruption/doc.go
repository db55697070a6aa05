// Package interruption owns a claim's death: instances that belong to nobody are adopted or terminated, claims whose
// instance has ended are closed, and machines that never joined, or whose node or NodeClaim object is gone, are
// terminated.
//
// It can terminate and cannot launch. Every entry is level-triggered. Nothing is concluded from one look: what looks
// wrong is noted in the ledger, and acted upon by a later look that sees it still. EC2 is read first, then the ledger,
// then the API server, so that whatever came into being in between is known to the later source. When any of the three
// cannot be read, nothing is removed.
package interruption
