// Package dynamoledger keeps the ledger in one DynamoDB table: registrations, leases, claims, intents, pool usage,
// unavailable offerings, what clusters share of EC2's API, the planner's and the disruption function's notes,
// disruption commands, what stops them, and the snapshot manifest. It stores and compares; what any of it means is
// decided elsewhere.
//
// A ledger is made of parts, by who uses them: Claims are read and moved on by all, Launches are provisioning's,
// Commands disruption's, Classes the catalog's, Collector is what ends claims, Manifests are the watchers'. The
// programs in functions and cmd say which part is which port of their flows.
//
//	item                  PK                     SK                    attributes beside doc
//	registration          CLUSTERS               <cluster>
//	lease                 C#<cluster>#           LEASE#<name>          owner, exp, tok, ttl once its cluster is detached
//	manifest              C#<cluster>#W#         SNAP                  epoch, headSeq, heartbeat
//	epoch counter         C#<cluster>#W#         EPOCH                 epoch, owner
//	collector state       C#<cluster>#           CASES                 ver
//	usage                 C#<cluster>#           USE#<pool>            v, r:<resource> …
//	open intent           C#<cluster>#           INTENT#<id>           state
//	done intent           C#<cluster>#           ~INTENT#<id>          state, ttl
//	live claim            C#<cluster>#N#<0-7>    CLAIM#<name>          state, ver, intent, instanceId, standalone
//	ended instance        C#<cluster>#N#<0-7>    ENDED#<time>#<name>   a claim's, ttl
//	gone claim            C#<cluster>#N#<0-7>    ~CLAIM#<name>         a claim's, ttl; of an instance at, its ENDED#
//	planner's notes       C#<cluster>#           NOTES
//	command               C#<cluster>#           COMMAND#<id>          state, ver, ttl once ended
//	budget version        C#<cluster>#           TURN#<pool>           ver
//	hint passed on        C#<cluster>#           TELL#<reason>         at
//	disruption notes      C#<cluster>#           JUDGE                 ver
//	stop                  C#<cluster>#           STOP, STOP#<pool>
//	region's stop         R#<account>#<region>#  STOP
//	unavailable offering  R#<account>#<region>#  MARK#<what>           until, failures, ttl
//	API allowance         R#<account>#<region>#  ALLOWANCE             v
//	learned memory        R#…#LEARNED            <type>#<images>       mib, seen, ttl
//
// What is over stays for a day, behind everything that runs read: a partition is read up to a sort key, and the sort
// keys of done intents and gone claims are above it. Versions before this order left done intents and gone claims in
// their places; they are read there until their time to live. So are claims of no pool that are gone, which standalone
// marks. Of ENDED# later times sort first.
//
// The index byInstance holds the keys of claims by their attribute instanceId: what AWS says of an instance finds its
// claim by it, whatever the cluster.
//
// doc is the value as JSON, of claims, intents and commands packed (gzip) as packed where that is worth while; the
// attributes beside it are what conditions compare. Every key of a cluster begins with C#<cluster>#, so that a role can
// be held to one cluster by its leading keys. What the watcher writes has a partition of its own (C#<cluster>#W#),
// because such a condition cannot tell sort keys apart: leases, intents, commands and the rest are out of its reach.
// Claims are spread over eight partitions because one takes a thousand writes a second and a burst of launches wants
// more.
//
// Every fenced write is a transaction that checks the lease's token: whatever a planner that lost its lease still tries
// fails as a whole. Each transaction can tell by its own conditions that it was carried out before, so repeating one
// whose answer was lost is harmless without any idempotency token.
//
//	ledger := dynamoledger.New(dynamodb.NewFromConfig(config), "joiner")
//	fence, err := ledger.Acquire(ctx, "web", owner, now, until)
package dynamoledger
