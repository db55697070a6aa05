// Package dynamodb is a model of Amazon DynamoDB: tables in memory that answer the real wire protocol the way
// the service does, under a clock the test owns.
//
// It decides what every operation the ledger uses does: keys, conditions, updates, queries, secondary indexes,
// transactions with their cancellation reasons, expiry, capacity, limits and the words of every refusal. The
// expression language is in package expression, values in package attribute; signatures, request counts,
// latency and dropped connections belong to the front door, package cloud. Backups, streams, PartiQL, import
// and export are not modeled, and the parameters older than expressions are refused.
//
//	m := dynamodb.NewModel(dynamodb.Options{Clock: clock.System()})
//	http.Serve(listener, dynamodb.NewHandler(m))
//
// The model is linearisable: one lock orders all operations. What the service does later or differently now
// and then is asked for: SetLags makes indexes, eventually consistent reads and expiry late, SetDurations
// makes writes take time so that they collide, SetFaults makes a chosen transaction conflict.
package dynamodb
