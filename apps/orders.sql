-- SPDX-License-Identifier: GPL-2.0-or-later
-- A wholesaler's warehouses, after what TPC-C describes: the same kinds of transactions over
-- tables of the same kinds, smaller. Random numbers are those of the caller's seed.

create table item (i int primary key, price numeric(5,2), name text);
create table warehouse (w int primary key, tax real, ytd numeric);
create table district (w int, d int, next_o int, tax real, ytd numeric, primary key (w, d));
create table customer (w int, d int, c int, balance numeric, payments int, deliveries int,
                       about text, primary key (w, d, c));
create table stock (w int, i int, quantity int, ytd int, orders int, about text,
                    primary key (w, i));
create table sale (w int, d int, o int, c int, entered timestamp, carrier int, lines int,
                   primary key (w, d, o));
create table open_sale (w int, d int, o int, primary key (w, d, o));
create table line (w int, d int, o int, n int, i int, supplier int, quantity int,
                   amount numeric, about text, primary key (w, d, o, n));
create table history (w int, d int, c int, at timestamp, amount numeric);

insert into item select i, 1 + i % 99, 'item ' || i from generate_series(1, 10000) i;
insert into warehouse select w, 0.1, 0 from generate_series(1, 32) w;
insert into district select w, d, 31, 0.1, 0
    from generate_series(1, 32) w, generate_series(1, 10) d;
insert into customer select w, d, c, -10, 1, 0, repeat('c', 400)
    from generate_series(1, 32) w, generate_series(1, 10) d, generate_series(1, 500) c;
insert into stock select w, i, 10 + (i * 7 + w) % 90, 0, 0, repeat('s', 250)
    from generate_series(1, 32) w, generate_series(1, 10000) i;
insert into sale select w, d, o, 1 + (o * 37) % 500, now(), 1, 10
    from generate_series(1, 32) w, generate_series(1, 10) d, generate_series(1, 30) o;
insert into open_sale select w, d, o from sale where o > 20;
insert into line select w, d, o, n, 1 + (w * 31 + d * 577 + o * 7919 + n * 104729) % 10000, w, 5, 50,
                        repeat('l', 24)
    from sale, generate_series(1, 10) n;

-- 5 to 15 items of a customer, one in a hundred of them from another warehouse. In the items'
-- order, so that no two wait for each other; the district's number, for which all its sales wait,
-- comes last
create function new_sale(ww int, dd int, cc int, seed float) returns numeric as $$
declare
  number int; wanted int; one record; cost numeric;
  items int[] := '{}'; suppliers int[] := '{}'; amounts numeric[] := '{}';
begin
  perform setseed(seed);
  wanted := 5 + floor(random() * 11);
  perform balance, about from customer where w = ww and d = dd and c = cc;
  perform tax from warehouse where w = ww;
  for one in select s.w, s.i from (
      select case when random() < 0.01 then 1 + floor(random() * 32) else ww end::int as w,
             (1 + floor(random() * 10000))::int as i from generate_series(1, wanted)) s
      order by s.w, s.i loop
    select price into cost from item where i = one.i;
    update stock set quantity = case when quantity >= 15 then quantity - 5 else quantity + 86 end,
        ytd = ytd + 5, orders = orders + 1 where w = one.w and i = one.i;
    items := items || one.i;
    suppliers := suppliers || one.w;
    amounts := amounts || 5 * cost;
  end loop;
  update district set next_o = next_o + 1 where w = ww and d = dd returning next_o - 1 into number;
  insert into sale values (ww, dd, number, cc, now(), null, wanted);
  insert into open_sale values (ww, dd, number);
  insert into line select ww, dd, number, n, i, supplier, 5, amount, repeat('l', 24)
      from unnest(items, suppliers, amounts) with ordinality as u(i, supplier, amount, n);
  return (select sum(amount) from unnest(amounts) amount);
end $$ language plpgsql;

create function pay(ww int, dd int, cc int, paid numeric) returns void as $$
begin
  update customer set balance = balance - paid, payments = payments + 1
      where w = ww and d = dd and c = cc;
  insert into history values (ww, dd, cc, now(), paid);
  update district set ytd = ytd + paid where w = ww and d = dd;
  update warehouse set ytd = ytd + paid where w = ww;
end $$ language plpgsql;

create function state_of(ww int, dd int, cc int) returns bigint as $$
declare
  last int;
begin
  perform balance, about from customer where w = ww and d = dd and c = cc;
  select next_o - 1 into last from district where w = ww and d = dd;
  return (select count(*) from line where w = ww and d = dd and o = last);
end $$ language plpgsql stable;

-- the oldest open sale of each district
create function deliver(ww int) returns int as $$
declare
  dd int; oldest int; buyer int; due numeric; done int := 0;
begin
  for dd in 1 .. 10 loop
    delete from open_sale where (w, d, o) = (
        select w, d, o from open_sale where w = ww and d = dd order by o limit 1
        for update skip locked) returning o into oldest;
    continue when oldest is null;
    update sale set carrier = 1 where w = ww and d = dd and o = oldest returning c into buyer;
    select sum(amount) into due from line where w = ww and d = dd and o = oldest;
    update customer set balance = balance + due, deliveries = deliveries + 1
        where w = ww and d = dd and c = buyer;
    done := done + 1;
  end loop;
  return done;
end $$ language plpgsql;

create function low_stock(ww int, dd int) returns bigint as $$
declare
  next int;
begin
  select next_o into next from district where w = ww and d = dd;
  return (select count(distinct s.i) from line l join stock s on s.w = ww and s.i = l.i
          where l.w = ww and l.d = dd and l.o >= next - 20 and l.o < next and s.quantity < 15);
end $$ language plpgsql stable;

analyze;
checkpoint;
