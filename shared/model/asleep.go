package model

import "time"

// How long what a cluster was found like is believed, and how often one that sleeps is looked at all the same.
const (
	sleepsForSeconds   = 600
	silentAfterSeconds = 45 // since the watcher's last heartbeat: then nobody would say that something has come up
	resyncEveryMinutes = 5
)

// EmptyForSeconds is for how long the disruption function need not look again at a cluster it found empty: a minute
// less than that is believed, so that its next check comes in time.
const EmptyForSeconds = sleepsForSeconds - 60

// ResyncDue reports whether a resync of the cluster is due with a tick, given in RFC 3339: each minute, and every fifth
// while the cluster sleeps. It does where the disruption function found it empty and the watcher, which lives, has
// published nothing since.
func (n *DisruptNotes) ResyncDue(manifest *Manifest, nowUnix int64, tick string) bool {
	sleeps := n.Empty && n.Ledger != "" && manifest != nil && manifest.Epoch == n.Epoch && manifest.HeadSeq == n.Seq &&
		nowUnix-manifest.HeartbeatAt <= silentAfterSeconds && nowUnix-n.AtUnix < sleepsForSeconds
	at, err := time.Parse(time.RFC3339, tick)
	return !sleeps || err != nil || at.Minute()%resyncEveryMinutes == 0
}
