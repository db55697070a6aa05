package world

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// SpoilItem makes an item of a cluster's unreadable until it is mended, or written anew as a whole: one of the kinds of model.Unread by its
// name. What stands beside its doc stays, so that writes go on meeting their conditions; a pool's usage takes no write.
func SpoilItem(l *Ledger, cluster, kind, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	if b.spoilt == nil {
		b.spoilt = map[spoiltItem]bool{}
	}
	b.spoilt[spoiltItem{kind, name}] = true
}

// MendItems makes every item of a cluster's readable again.
func MendItems(l *Ledger, cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items(cluster).spoilt = nil
}

// spoiltItem names an item that cannot be read.
type spoiltItem struct{ kind, name string }

// skip takes an item that cannot be read out of what a read returns, and says so.
func (b *clusterItems) skip(unread *model.UnreadItems, kind, name string, gone bool) bool {
	if !b.spoilt[spoiltItem{kind, name}] {
		return false
	}
	*unread = append(*unread, model.Unread{Kind: kind, Name: name, Key: strings.ToUpper(kind) + "#" + name, Why: "it is spoilt", Gone: gone})
	return true
}

// readableOf returns what of a list can be read, by the names of items.
func readableOf[T any](b *clusterItems, unread *model.UnreadItems, kind string, list []T, name func(*T) string) []T {
	if len(b.spoilt) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool { return b.skip(unread, kind, name(&t), false) })
}

// readable returns what can be read of a cluster's claims and its own partition.
func (b *clusterItems) readable(claims []model.Claim, all own) ([]model.Claim, own, model.UnreadItems) {
	if len(b.spoilt) == 0 {
		return claims, all, nil
	}
	var unread model.UnreadItems
	claims = slices.DeleteFunc(slices.Clone(claims), func(c model.Claim) bool { return b.skip(&unread, model.UnreadClaim, c.Name, !c.Live()) })
	all.intents = readableOf(b, &unread, model.UnreadIntent, all.intents, func(i *model.Intent) string { return i.ID })
	all.usage = readableOf(b, &unread, model.UnreadUsage, all.usage, func(u *model.Usage) string { return u.Pool })
	all.commands = readableOf(b, &unread, model.UnreadCommand, all.commands, func(c *model.Command) string { return c.ID })
	slices.SortFunc(unread, func(a, b model.Unread) int { return strings.Compare(a.Key, b.Key) })
	return claims, all, unread
}

// countable returns an error where a pool's usage takes no write.
func (b *clusterItems) countable(pool string) error {
	if b.spoilt[spoiltItem{model.UnreadUsage, pool}] {
		return fault.New(fault.Invalid, "ValidationException", "the usage of nodepool %s holds something that is no number", pool)
	}
	return nil
}
